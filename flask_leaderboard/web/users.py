"""Users: display names, metadata, and being forgotten."""

from __future__ import annotations

from typing import Any

from .. import errors as e
from ..rules.identity import check_id, check_user_id
from ..store.users import Profile
from . import replies, schemas
from .bodies import write_json
from .operations import Call, Operation

DEEPEST_METADATA = 16


def put_user(call: Call) -> dict[str, Any]:
    user_id = check_user_id(call.path["user_id"])
    profile = Profile(call.body.get("user_name"), call.body.get("metadata"))
    if profile == Profile():
        raise e.InputError("the body has neither 'user_name' nor 'metadata': send one of them, or DELETE the user")
    if profile.user_name is not None:
        check_id(profile.user_name, "user_name")
    _check_metadata(profile.metadata, call.service.settings.max_metadata_bytes)
    call.service.hub.users.put(user_id, profile)
    return _user(user_id, profile)


def get_user(call: Call) -> dict[str, Any]:
    user_id = check_user_id(call.path["user_id"])
    (profile,) = call.service.hub.users.get([user_id], metadata=True)
    if profile == Profile():
        raise e.UnknownUserError(f"nothing is known of user {user_id!r}")
    return _user(user_id, profile)


def delete_user(call: Call) -> dict[str, Any]:
    user_id = check_user_id(call.path["user_id"])
    call.service.hub.erase(user_id)
    return _user(user_id, Profile())


def _user(user_id: str, profile: Profile) -> dict[str, Any]:
    return {"user_id": user_id, **profile._asdict()}


def _depth(value: Any) -> int:
    """Count how many objects and lists stand inside one another, level by level: it may be too deep for recursion."""
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
        depth += 1
    return depth


def _check_metadata(metadata: Any, most_bytes: int) -> None:
    if _depth(metadata) > DEEPEST_METADATA:
        raise e.InputError(f"metadata is nested too deeply: at most {DEEPEST_METADATA} levels")
    try:
        size = len(write_json(metadata))
    except TypeError:
        raise e.InputError("metadata has a number that is not exactly a double: send it as text") from None
    if size > most_bytes:
        raise e.InputError(f"metadata has {size} bytes: send at most {most_bytes}")


OPERATIONS = (
    Operation(
        "put_user", "PUT", "/users/{user_id}", put_user, "Keep a user's display name and metadata in place of those before",
        replies.UserSchema, role="submit", body=schemas.ProfileSchema(), errors=(e.InputError, e.IdentityError, e.ReplayError),
        tag="users",
    ),
    Operation(
        "get_user", "GET", "/users/{user_id}", get_user, "Read a user's display name and metadata",
        replies.UserSchema, role="read", errors=(e.IdentityError, e.UnknownUserError), tag="users",
    ),
    Operation(
        "erase_user", "DELETE", "/users/{user_id}", delete_user, "Take a user off every board and forget name and metadata",
        replies.UserSchema, role="admin", errors=(e.IdentityError, e.ReplayError), tag="users",
    ),
)  # fmt: skip
