/** `PRAGMA application_id` of our files: "FBRL" in ASCII. */
export const APPLICATION_ID = 0x4642524c;

/**
 * Each step brings a file from the version of its index to the next; `PRAGMA user_version` counts the steps done.
 * A step that has been released is never changed: what comes later is a new step.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- \`detail\` is the whole letter as JSON; the other columns repeat what is searched for.
  CREATE TABLE letters (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    -- The state it had when its redrive began: a crash puts it back.
    claimed_from TEXT,
    lane TEXT NOT NULL,
    host TEXT NOT NULL,
    reason TEXT NOT NULL,
    session TEXT,
    parked_at REAL NOT NULL,
    due_at REAL NOT NULL,
    keep_until REAL NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;

  CREATE UNIQUE INDEX letters_open ON letters (key) WHERE state IN ('parked', 'redriving', 'needs_client');
  -- Whatever is filtered by, no row is read that is not shown: a million letters are looked through in these alone.
  CREATE INDEX letters_newest ON letters (parked_at, id, state, lane, host, reason, session);
  CREATE INDEX letters_of_lane ON letters (lane, parked_at, id, state, host, reason, session);
  CREATE INDEX letters_of_session ON letters (session, parked_at, id, state, lane, host, reason)
    WHERE session IS NOT NULL;
  CREATE INDEX letters_due ON letters (due_at, host, id) WHERE state = 'parked';
  CREATE INDEX letters_due_of_host ON letters (host, due_at, id) WHERE state = 'parked';
  CREATE INDEX letters_redriving ON letters (n) WHERE state = 'redriving';
  CREATE INDEX letters_kept ON letters (keep_until) WHERE state <> 'redriving';

  CREATE TABLE bodies (
    n INTEGER PRIMARY KEY REFERENCES letters (n) ON DELETE CASCADE,
    body BLOB NOT NULL
  ) STRICT;
  CREATE TABLE responses (
    n INTEGER PRIMARY KEY REFERENCES letters (n) ON DELETE CASCADE,
    body BLOB NOT NULL
  ) STRICT;

  -- Counting a million letters at each look would take half a second.
  CREATE TABLE letter_counts (
    lane TEXT NOT NULL,
    state TEXT NOT NULL,
    letters INTEGER NOT NULL,
    PRIMARY KEY (lane, state)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER letters_come AFTER INSERT ON letters BEGIN
    INSERT INTO letter_counts VALUES (NEW.lane, NEW.state, 1)
      ON CONFLICT DO UPDATE SET letters = letters + 1;
  END;
  CREATE TRIGGER letters_go AFTER DELETE ON letters BEGIN
    UPDATE letter_counts SET letters = letters - 1 WHERE lane = OLD.lane AND state = OLD.state;
    DELETE FROM letter_counts WHERE lane = OLD.lane AND state = OLD.state AND letters = 0;
  END;
  CREATE TRIGGER letters_change AFTER UPDATE OF state, lane ON letters
  WHEN OLD.state <> NEW.state OR OLD.lane <> NEW.lane BEGIN
    UPDATE letter_counts SET letters = letters - 1 WHERE lane = OLD.lane AND state = OLD.state;
    DELETE FROM letter_counts WHERE lane = OLD.lane AND state = OLD.state AND letters = 0;
    INSERT INTO letter_counts VALUES (NEW.lane, NEW.state, 1)
      ON CONFLICT DO UPDATE SET letters = letters + 1;
  END;

  CREATE TABLE documents (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE entries (
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name, key)
  ) STRICT, WITHOUT ROWID;
  `,
];
