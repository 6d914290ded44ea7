-- A standby forwards requests to the leader over TLS.
DROP TABLE treeline.requests;

ALTER TABLE treeline.replicas
  -- Host and port where it answers the other replicas.
  ADD COLUMN address text,
  -- SHA-256 of the certificate that it shows there.
  ADD COLUMN certificate text;
