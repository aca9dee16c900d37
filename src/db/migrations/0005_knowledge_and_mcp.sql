-- Knowledge bases, their documents and passages; MCP servers.

CREATE TABLE knowledge_base (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  description text,
  -- Begins every lexeme of the base's passages, so that one index serves all bases and a search reads only its own.
  index_number bigint GENERATED ALWAYS AS IDENTITY,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX knowledge_base_list ON knowledge_base (account_id, livemode, created_at DESC, id DESC);

CREATE TABLE knowledge_document (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  knowledge_base_id char(24) NOT NULL REFERENCES knowledge_base ON DELETE CASCADE,
  title text NOT NULL,
  source text NOT NULL,
  -- What reads it; null until an address has been fetched.
  format text,
  url text,
  filename text,
  size_bytes integer,
  status text NOT NULL,
  error text,
  progress smallint NOT NULL,
  -- Runs begun since it was added or tried again; a run that was overtaken changes nothing.
  attempts integer NOT NULL DEFAULT 0,
  -- The text search configuration that its passages are indexed with.
  search_config text,
  chunk_count integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX knowledge_document_list ON knowledge_document (knowledge_base_id, created_at DESC, id DESC);

-- What was uploaded, in pieces that cost the event loop little; kept until it has been read.
CREATE TABLE knowledge_source (
  document_id char(24) NOT NULL REFERENCES knowledge_document ON DELETE CASCADE,
  position integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (document_id, position)
);
ALTER TABLE knowledge_source ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE knowledge_passage (
  document_id char(24) NOT NULL REFERENCES knowledge_document ON DELETE CASCADE,
  position integer NOT NULL,
  heading text NOT NULL,
  text text NOT NULL,
  start_offset integer NOT NULL,
  end_offset integer NOT NULL,
  search tsvector NOT NULL,
  PRIMARY KEY (document_id, position)
);
-- Ranking reads every match's vector: it stays in the row, and the text moves out of its way.
ALTER TABLE knowledge_passage ALTER COLUMN search SET STORAGE MAIN;
-- Without a list of pending entries, which every search would read through.
CREATE INDEX knowledge_passage_search ON knowledge_passage USING gin (search) WITH (fastupdate = off);

CREATE TABLE mcp_server (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  livemode boolean NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  transport text NOT NULL,
  -- Names and values, sealed with the master key; the names again, to be shown.
  headers bytea,
  headers_set text[] NOT NULL,
  enabled boolean NOT NULL,
  tools jsonb NOT NULL,
  tool_timeout_ms integer NOT NULL,
  status text NOT NULL,
  last_error text,
  refreshed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX mcp_server_list ON mcp_server (account_id, livemode, created_at DESC, id DESC);
