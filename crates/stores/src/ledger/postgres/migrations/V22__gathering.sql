-- From when on people gather in front of an event whose order is drawn at the opening; and how many are let in per minute.
ALTER TABLE event ADD COLUMN room_gather_from bigint;
ALTER TABLE event ADD COLUMN room_admit_per_minute integer CHECK (room_admit_per_minute > 0);
-- People have gathered, and the room was taken away since: nobody gathers here again.
ALTER TABLE event ADD COLUMN gathered boolean NOT NULL DEFAULT false;
