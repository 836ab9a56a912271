-- From when on people gather in front of an event whose order is drawn at the opening; and how many are let in per minute.
ALTER TABLE event ADD COLUMN room_gather_from INTEGER;
ALTER TABLE event ADD COLUMN room_admit_per_minute INTEGER CHECK (room_admit_per_minute > 0);
-- People have gathered, and the room was taken away since: nobody gathers here again.
ALTER TABLE event ADD COLUMN gathered INTEGER NOT NULL DEFAULT 0;
