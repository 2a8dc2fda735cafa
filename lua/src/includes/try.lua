local try = redis.pcall
