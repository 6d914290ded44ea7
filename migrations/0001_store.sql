-- The newest of each row. Without a value it is the mark of a removed one, which is kept for a day for other processes.
CREATE TABLE treeline.rows (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text,
  revision bigint NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, name)
);
CREATE INDEX rows_revision ON treeline.rows (revision);
CREATE INDEX rows_marks ON treeline.rows (changed_at) WHERE value IS NULL;

CREATE TABLE treeline.events (
  id bigint PRIMARY KEY,
  instance text COLLATE "C" NOT NULL,
  value text NOT NULL
);
CREATE INDEX events_instance ON treeline.events (instance, id);

-- The newest event of each instance that was removed.
CREATE TABLE treeline.trimmed (
  instance text COLLATE "C" PRIMARY KEY,
  id bigint NOT NULL
);

-- The first commit that each leader could make: shows whether a commit is that of the leader that has lost its connection.
CREATE TABLE treeline.terms (
  fencing bigint PRIMARY KEY,
  first_revision bigint NOT NULL
);

-- One row. Each commit locks it first, so that commits come one after the other.
CREATE TABLE treeline.state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  revision bigint NOT NULL,
  -- That of the lease. Who takes the lease writes it here too, and so waits for the commit under way.
  fencing bigint NOT NULL,
  -- Marks up to this commit may be gone: who has seen less reads everything anew.
  forgotten bigint NOT NULL,
  -- An installation is the id in its settings, null until a controller starts, and a random number.
  id text,
  installation uuid NOT NULL
);
INSERT INTO treeline.state (revision, fencing, forgotten, installation) VALUES (0, 0, 0, gen_random_uuid());

-- One row: which process leads, by the clock of the database.
CREATE TABLE treeline.lease (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Null where it was given back, or nobody has led yet.
  holder text,
  fencing bigint NOT NULL,
  since timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
INSERT INTO treeline.lease (fencing, since, expires_at) VALUES (0, now(), now());

-- The processes that share the database.
CREATE TABLE treeline.replicas (
  name text PRIMARY KEY,
  process uuid NOT NULL,
  seen_at timestamptz NOT NULL,
  -- Digests of the settings that must agree, by name.
  settings text NOT NULL,
  -- Host and port where it answers the other replicas.
  address text,
  -- SHA-256 of the certificate that it shows there.
  certificate text
);
