SELECT digest, name, role, made_at, made_by, ends_at, ended_by FROM admin_token ORDER BY made_at, digest
