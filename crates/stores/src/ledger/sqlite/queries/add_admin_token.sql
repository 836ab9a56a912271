-- A known digest is left unchanged.
INSERT INTO admin_token (digest, name, role, made_at, made_by, ends_at, ended_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (digest) DO NOTHING
