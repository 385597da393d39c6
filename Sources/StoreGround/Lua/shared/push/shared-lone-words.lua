-- Fragment for scripts that read a lone push: its name's only unswept push, in the name's hash and not in p, q and w.
-- Field `lone`: `<id> <sequence> <timestamp> <priority> <until> <created> <retention> <sup> <expiry> <soft> <prev> <tell>
--   <tp>`, as in p, `-` = absent; a line with `by`; the payload. It is an update for everyone, without other options.
--   push-accept writes it (shared-accept-lone), and LonePush reads it in Swift.
-- Field `sent`, once it has begun: its lease, `<epoch> <deadline> <length> <owner>`.

-- Captures the words, `by`, and where the payload begins: a pattern would look at each byte of it.
local LONE_WORDS =
    '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\n([^\n]*)\n()'
