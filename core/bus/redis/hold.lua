-- A gate lets nobody through until a point in time, which only moves on.
--
-- KEYS: the gate. ARGV: now (0 for the server's own clock), and how long; microseconds.

local now, span = tonumber(ARGV[1]), tonumber(ARGV[2])
if now == 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local before = tonumber(redis.call('GET', KEYS[1]) or 0) or 0
if before < now + span then
  redis.call('SET', KEYS[1], string.format('%.0f', now + span), 'PX', math.ceil(span / 1000) + 60000)
end
return {}
