//! Every statement, each in a file of its own that says why it is as it is.

macro_rules! queries {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub const $name: &str = include_str!(concat!("queries/", $file, ".sql"));)+
    };
}

queries! {
    ANSWERS = "answers",
    APPEND_HISTORY = "append_history",
    BATCH_COMMITTED = "batch_committed",
    BEGIN_LINE = "begin_line",
    CREATE_EVENT = "create_event",
    CREATE_HALL = "create_hall",
    END_ENTRIES = "end_entries",
    ENTER = "enter",
    ENTRIES_OF = "entries_of",
    EVENT = "event",
    EVENTS = "events",
    FORGET_ANSWERS = "forget_answers",
    FREE = "free",
    FREE_SEATS = "free_seats",
    GAPS = "gaps",
    HALL = "hall",
    HISTORY = "history",
    HOLDINGS = "holdings",
    KEEP_ANSWERS = "keep_answers",
    LAPSED_ENTRIES = "lapsed_entries",
    LIVE_ENTRIES = "live_entries",
    LOCK_EVENT = "lock_event",
    MAKE_TICKET_KEY = "make_ticket_key",
    MOVE_COUNTS = "move_counts",
    NOW = "now",
    NUMBERS_SPENT = "numbers_spent",
    RAISE_GENERATION = "raise_generation",
    READY = "ready",
    RENEW_ENTRIES = "renew_entries",
    RESELL = "resell",
    RESERVATIONS_IN = "reservations_in",
    RESERVATIONS_OF = "reservations_of",
    ROWS_OF_SEATS = "rows_of_seats",
    SALE_OF_SEAT = "sale_of_seat",
    SALES = "sales",
    SELL = "sell",
    SOLD_SEATS = "sold_seats",
    TICKET_KEYS = "ticket_keys",
}
