-- One row for each lease. Every write, from any client, gets a greater version than all before, and is announced.
CREATE SEQUENCE IF NOT EXISTS tenure_version AS bigint;

CREATE TABLE IF NOT EXISTS tenure_leases (
  name    text   PRIMARY KEY,
  version bigint NOT NULL,
  record  jsonb  NOT NULL
);

CREATE OR REPLACE FUNCTION tenure_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Without this, a row could get its number before the deletion of the row that it replaces, and be inserted after it.
  IF TG_OP <> 'UPDATE' THEN PERFORM pg_advisory_xact_lock(hashtextextended(coalesce(NEW.name, OLD.name), 0)); END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  NEW.version := nextval('tenure_version');
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION tenure_announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  payload text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    payload := json_build_object('name', OLD.name, 'version', nextval('tenure_version')::text);
  ELSE
    payload := json_build_object('name', NEW.name, 'version', NEW.version::text, 'record', NEW.record);
  END IF;
  -- Listeners read the row themselves if the record is too long for a notification.
  IF octet_length(payload) > 7900 THEN
    payload := json_build_object('name', NEW.name, 'version', NEW.version::text, 'tooLong', true);
  END IF;
  PERFORM pg_notify('tenure_leases', payload);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tenure_number BEFORE INSERT OR UPDATE OR DELETE ON tenure_leases
  FOR EACH ROW EXECUTE FUNCTION tenure_number();
CREATE OR REPLACE TRIGGER tenure_announce AFTER INSERT OR UPDATE OR DELETE ON tenure_leases
  FOR EACH ROW EXECUTE FUNCTION tenure_announce();
