//! Every statement, each in a file of its own that says why it is as it is.

macro_rules! queries {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub const $name: &str = include_str!(concat!("queries/", $file, ".sql"));)+
    };
}

queries! {
    AMEND_EVENT = "amend_event",
    ANSWER = "answer",
    APPEND_HISTORY = "append_history",
    BEGIN_LINE = "begin_line",
    CREATE_EVENT = "create_event",
    END_ENTRY = "end_entry",
    ENTER = "enter",
    ENTRY_OF = "entry_of",
    EVENT = "event",
    EVENTS = "events",
    FORGET_ANSWERS = "forget_answers",
    FREE_SEAT = "free_seat",
    FREE_SEATS = "free_seats",
    HALL = "hall",
    HISTORY = "history",
    HOLDINGS = "holdings",
    KEEP_ANSWER = "keep_answer",
    LAPSED_ENTRIES = "lapsed_entries",
    LIVE_ENTRIES = "live_entries",
    MAKE_TICKET_KEY = "make_ticket_key",
    MOVE_COUNTS = "move_counts",
    NUMBER_SPENT = "number_spent",
    RAISE_GENERATION = "raise_generation",
    RENEW_ENTRY = "renew_entry",
    RESELL_SEAT = "resell_seat",
    RESERVATIONS_IN = "reservations_in",
    RESERVATIONS_OF = "reservations_of",
    RETIRE_TICKET_KEYS = "retire_ticket_keys",
    ROW_OF_SEAT = "row_of_seat",
    ROWS_AHEAD = "rows_ahead",
    SALE = "sale",
    SALE_OF_SEAT = "sale_of_seat",
    SELL_SEAT = "sell_seat",
    SOLD_SEATS = "sold_seats",
    TICKET_KEYS = "ticket_keys",
}
