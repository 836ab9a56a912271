//! The server over HTTP: the contract, the crowd, the kills.

mod answers;
mod auth_matrix;
mod chosen;
mod crowd;
mod dialects;
mod documents;
mod erasure;
mod faults;
mod gateway;
mod holds;
mod input;
mod keys;
mod kills;
mod leaving;
mod lists;
mod locust;
mod manual;
mod overload;
mod plain_build;
mod public_ids;
mod readers;
mod records;
mod rush;
mod verify;
mod waiting;
