-- Trunks both ways: how to reach the peer and how to speak to it; what was last seen of it.
ALTER TABLE sip_trunk
  ADD COLUMN settings jsonb NOT NULL DEFAULT '{}',
  -- Sealed.
  ADD COLUMN password bytea,
  ADD COLUMN registration jsonb,
  ADD COLUMN health text,
  ADD COLUMN last_ok_at timestamptz(3),
  ADD COLUMN rtt_ms integer;
