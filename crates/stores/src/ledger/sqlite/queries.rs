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
    CREATE_EVENT = "create_event",
    EVENT = "event",
    EVENTS = "events",
    FORGET_ANSWERS = "forget_answers",
    FREE_SEAT = "free_seat",
    FREE_SEATS = "free_seats",
    HALL = "hall",
    HISTORY = "history",
    HOLDINGS = "holdings",
    KEEP_ANSWER = "keep_answer",
    MOVE_COUNTS = "move_counts",
    RAISE_GENERATION = "raise_generation",
    RESELL_SEAT = "resell_seat",
    RESERVATIONS_IN = "reservations_in",
    RESERVATIONS_OF = "reservations_of",
    ROW_OF_SEAT = "row_of_seat",
    ROWS_AHEAD = "rows_ahead",
    SALE = "sale",
    SALE_OF_SEAT = "sale_of_seat",
    SELL_SEAT = "sell_seat",
    SOLD_SEATS = "sold_seats",
}
