"""The REST API: one table of operations, from which come the routes, their checks and the OpenAPI document."""
