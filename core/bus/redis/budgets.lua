-- One call takes its place in all of its budgets, or notes that it waits.
--
-- KEYS: a meter for each charge, then the gates.
-- ARGV: now (0 for the server's own clock), limit, final (0 or 1), grace, the number of
-- charges; then interval, burst and card_every of each.
-- All times are microseconds: whole numbers, which stay exact up to 2^53.
--
-- A meter is four points in time: when the bucket is full again (generic cell rate
-- algorithm); from when a card goes before the final answers that wait; until when the
-- next place is kept for a card; until when final answers wait. A key that is not there
-- is a full bucket for which nobody waits, and so is one that holds anything else.
--
-- A gate is the point in time until which nobody may leave, whatever the meters say; whom
-- it stops is noted nowhere.
--
-- Returns whether the places were taken and the wait; then, unless a gate is shut, for
-- each charge the wait of this call and the wait of anybody.

local now, limit, final = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local grace, charges = tonumber(ARGV[4]), tonumber(ARGV[5])
if now == 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- A clock that was set back, or another server's, must not stop everything for as long
-- as the difference.
local function sane(at, furthest)
  if at > now + furthest then
    return 0
  end
  return at
end

local function read(value, i)
  local m = {
    interval = tonumber(ARGV[3 + 3 * i]), burst = math.max(tonumber(ARGV[4 + 3 * i]), 1),
    card_every = tonumber(ARGV[5 + 3 * i]),
  }
  local full, card, kept, waits = string.match(value or '', '^(%d+) (%d+) (%d+) (%d+)$')
  local far = 60000000 + (m.burst + 4) * m.interval
  m.full = sane(tonumber(full or 0), far)
  m.next_card = sane(tonumber(card or 0), far)
  m.card_waits = sane(tonumber(kept or 0), 2 * far)
  m.final_waits = sane(tonumber(waits or 0), 2 * far)
  return m
end

local function anyone(m, full)
  return math.max(full - (m.burst - 1) * m.interval - now, 0)
end

local function ours(m)
  if final and m.card_waits > now then -- As if the card had left already.
    return anyone(m, m.full + m.interval)
  end
  if not final and m.final_waits > now then
    return math.max(anyone(m, m.full), m.next_card - now)
  end
  return anyone(m, m.full)
end

local function write(key, m)
  local last = math.max(m.full, m.next_card, m.card_waits, m.final_waits)
  local value = string.format('%.0f %.0f %.0f %.0f', m.full, m.next_card, m.card_waits, m.final_waits)
  -- A minute more than it matters: then nobody's clock has to agree on a key's end.
  redis.call('SET', key, value, 'PX', math.ceil(math.max(last - now, 0) / 1000) + 60000)
end

local function spend(m, at)
  m.full = math.max(m.full, at) + m.interval
  if not final then
    m.card_waits = 0 -- Others who wait will say so.
    m.next_card = at + m.card_every
  end
end

-- A card whose turn has not come has nothing kept for it.
local function mark(m, till)
  if final then
    m.final_waits = math.max(m.final_waits, till)
  elseif m.next_card - now <= anyone(m, m.full) then
    m.card_waits = math.max(m.card_waits, till)
  end
end

local values = redis.call('MGET', unpack(KEYS))
local meters, wait, answer = {}, 0, { 0, 0 }
for i = charges + 1, #KEYS do
  wait = math.max(wait, (tonumber(values[i] or 0) or 0) - now)
end
if wait > 0 then
  return { 0, wait }
end
for i = 1, charges do
  local m = read(values[i], i)
  m.wait = ours(m)
  meters[i], wait = m, math.max(wait, m.wait)
  answer[#answer + 1] = m.wait
  answer[#answer + 1] = anyone(m, m.full)
end

local taken = wait <= limit
for i, m in ipairs(meters) do
  if taken then
    spend(m, now + wait)
    write(KEYS[i], m)
  elseif m.wait > limit then
    mark(m, now + wait + grace)
    write(KEYS[i], m)
  end
end
answer[1], answer[2] = taken and 1 or 0, wait
return answer
