-- Up Migration

-- The newest of each row. Without a value it is the mark of a removed one, which other processes have to see.
CREATE TABLE treeline.rows (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text,
  revision bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (kind, name)
);
CREATE INDEX rows_revision ON treeline.rows (revision);

-- Without a value it marks that this event and all older ones of the instance were dropped.
CREATE TABLE treeline.events (
  instance text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  value text,
  revision bigint NOT NULL,
  checksum bigint NOT NULL,
  PRIMARY KEY (instance, id)
);
CREATE INDEX events_revision ON treeline.events (revision);

-- Which attempt made each of the newest commits, for one that lost its connection and does not know.
CREATE TABLE treeline.commits (
  revision bigint PRIMARY KEY,
  attempt uuid NOT NULL
);

-- One row. Each commit locks it first, so that commits come one after the other.
CREATE TABLE treeline.state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  revision bigint NOT NULL,
  -- Bytes that all rows take.
  bytes bigint NOT NULL,
  fencing bigint NOT NULL,
  installation uuid NOT NULL
);
INSERT INTO treeline.state (revision, bytes, fencing, installation) VALUES (0, 0, 0, gen_random_uuid());
