-- Fragment for scripts that compare a stored time with now. Redis's clock may be set, forward and back. A time that
-- lies ahead was stored before the clock was set back, so nobody knows how long ago that was. No wait may last until
-- the clock gets there again.
-- uses constants

-- How long ago a stored time is, ms. One that lies ahead counts as long ago, so a wait that began then is over.
local function since(at, now) return at > now and math.huge or now - at end

-- The same, if both times are of callers. Their clocks differ by up to CLOCK_ERROR, so a time may lie as far ahead
-- although no clock was set; the result is negative then.
local function since_told(at, now) return since(at - CLOCK_ERROR, now) - CLOCK_ERROR end
