-- People who sign in on the console with e-mail and password. An operator runs the installation: accounts, credit, prices.
CREATE TABLE person (
  id char(24) PRIMARY KEY,
  account_id char(24) NOT NULL REFERENCES account,
  email text NOT NULL,
  name text,
  password text NOT NULL,
  operator boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX person_email ON person (lower(email));
CREATE INDEX person_account ON person (account_id);

-- Null: opened with the address that the start prints, by somebody at the machine itself.
ALTER TABLE console_session ADD COLUMN person_id char(24) REFERENCES person ON DELETE CASCADE;
CREATE INDEX account_list ON account (created_at DESC, id DESC);
