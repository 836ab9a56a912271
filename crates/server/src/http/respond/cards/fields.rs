//! What is wrong with a field, in words. Korean names the field before a colon, because the particle
//! behind a name depends on its last sound.

use rules::outcome::{Expected, FieldError, Problem};

use super::{Message, message};

pub fn field_message(error: &FieldError) -> Message {
    let field = &error.field;
    match &error.problem {
        Problem::Missing => message(format!("{field} is missing."), format!("{field}: 필수 항목입니다.")),
        Problem::Repeated => {
            message(format!("{field} is given more than once."), format!("{field}: 한 번만 보낼 수 있습니다."))
        }
        Problem::NotUtf8 => message(format!("{field} is not UTF-8."), format!("{field}: UTF-8이 아닙니다.")),
        Problem::NotJson { line, column } => message(
            format!("{field} is not JSON (line {line}, column {column})."),
            format!("{field}: 올바른 JSON이 아닙니다. {line}행 {column}열을 확인해 주세요."),
        ),
        Problem::Expected(what) => {
            let (en, ko) = expected(*what);
            message(format!("{field}: expected {en}."), format!("{field}: {ko}"))
        }
        Problem::Length { most } => message(
            format!("{field} is longer than {most} characters."),
            format!("{field}: 최대 {most}자까지 입력할 수 있습니다."),
        ),
        Problem::Count { least, most } => message(
            format!("{field} must have from {least} to {most} entries."),
            format!("{field}: 항목 수는 {least}개에서 {most}개 사이여야 합니다."),
        ),
        Problem::Size { most_bytes } => message(
            format!("{field} is larger than {most_bytes} bytes."),
            format!("{field}: 최대 {most_bytes}바이트까지 보낼 수 있습니다."),
        ),
        Problem::Unprintable => message(
            format!("{field} has characters that cannot be printed, or spaces at its ends."),
            format!("{field}: 출력할 수 없는 문자나 앞뒤 공백을 포함할 수 없습니다."),
        ),
        Problem::OutOfRange { least, most } => range(field, least, most),
        Problem::NotAPhone => {
            message(format!("{field} is not a telephone number."), format!("{field}: 올바른 전화번호가 아닙니다."))
        }
        Problem::NotAnEmail => {
            message(format!("{field} is not an email address."), format!("{field}: 올바른 이메일 주소가 아닙니다."))
        }
        Problem::NotAMoment => message(
            format!("{field} is not a time such as 2026-12-24T18:00:00Z."),
            format!("{field}: 2026-12-24T18:00:00Z와 같은 형식의 시각이어야 합니다."),
        ),
        Problem::NotADate => message(
            format!("{field} is not a date such as 2026-12-24."),
            format!("{field}: 2026-12-24와 같은 형식의 날짜여야 합니다."),
        ),
        Problem::Dates { least, most } => range(field, least, most),
        Problem::Unknown { nearest: Some(nearest) } => message(
            format!("{field} is not a known field; the nearest is {nearest}."),
            format!("{field}: 알 수 없는 항목입니다. {nearest} 항목을 확인해 주세요."),
        ),
        Problem::Unknown { nearest: None } => {
            message(format!("{field} is not a known field."), format!("{field}: 알 수 없는 항목입니다."))
        }
        Problem::OneOf(words) => {
            let words = words.join(", ");
            message(format!("{field} must be one of: {words}."), format!("{field}: {words} 중 하나여야 합니다."))
        }
    }
}

fn range<T: std::fmt::Display>(field: &str, least: &T, most: &T) -> Message {
    message(
        format!("{field} must be from {least} to {most}."),
        format!("{field}: {least}에서 {most} 사이의 값이어야 합니다."),
    )
}

/// English ends a sentence, Korean is one.
fn expected(what: Expected) -> (&'static str, &'static str) {
    match what {
        Expected::JsonObject => ("a JSON object", "JSON 객체여야 합니다."),
        Expected::List => ("a list", "목록이어야 합니다."),
        Expected::Text => ("text", "문자열이어야 합니다."),
        Expected::ReadableEscapes => {
            ("text whose escapes stand for characters", "이스케이프가 올바른 문자를 나타내야 합니다.")
        }
        Expected::WholeNumber => ("a whole number in range", "범위 안의 정수여야 합니다."),
        Expected::CompleteBody => ("a complete body", "요청 본문이 끝까지 도착하지 않았습니다."),
        Expected::WellFormedRequest => ("a well-formed HTTP request", "올바른 HTTP 요청이 아닙니다."),
        Expected::ShorterHead => (
            "at most 100 headers of together at most 64 KiB",
            "헤더는 최대 100개, 모두 합해 64 KiB까지 보낼 수 있습니다.",
        ),
        Expected::NextOfAPage => ("the next of an earlier page", "이전 페이지의 next 값이어야 합니다."),
        Expected::Month => ("a month such as 2026-12", "2026-12와 같은 연월이어야 합니다."),
        Expected::GzipOrPages => (
            "gzip, because the list is long; or ask for a page of it, such as ?from=1&limit=1000",
            "좌석이 많은 목록은 gzip으로 요청하거나 ?from=1&limit=1000과 같이 나누어 요청해야 합니다.",
        ),
        Expected::TimeZone => ("a time zone such as Asia/Seoul", "Asia/Seoul과 같은 시간대여야 합니다."),
        Expected::AtLeastTokenTtl => ("at least tokenTtl", "tokenTtl 이상이어야 합니다."),
        Expected::BeforeOpening => ("before opensAt", "opensAt보다 이른 시각이어야 합니다."),
        Expected::BeforeGathering => {
            ("an event whose gathering has not begun", "모이기 시작한 행사에서는 바꿀 수 없습니다.")
        }
        Expected::NotDrawnYet => {
            ("an event whose order was not drawn yet", "이미 추첨한 행사의 시작 시각은 미룰 수 없습니다.")
        }
        Expected::NoSeats => {
            ("no change: seats are fixed when an event is made", "좌석은 행사를 만든 뒤에는 변경할 수 없습니다.")
        }
        Expected::OpenEvent => ("an open event", "판매 중인 행사여야 합니다."),
        Expected::PausedEvent => ("a paused event", "일시 중지된 행사여야 합니다."),
        Expected::ListedEvent => ("an event that is not archived", "보관되지 않은 행사여야 합니다."),
        Expected::ArchivedEvent => ("an archived event", "보관된 행사여야 합니다."),
        Expected::Rehearsal => (
            "an event that was made as a rehearsal; what a real one sold is never deleted",
            "예행연습으로 만든 행사여야 합니다. 실제 행사의 판매 내역은 삭제할 수 없습니다.",
        ),
        Expected::RoomTypeOrEvent => {
            ("either roomTypeId or eventId, not both", "roomTypeId와 eventId 중 하나만 보낼 수 있습니다.")
        }
        Expected::HoldKey => ("a UUID or a ULID", "UUID 또는 ULID여야 합니다."),
        Expected::PlainValue => ("text, a number, true or false", "문자열, 숫자, true, false 중 하나여야 합니다."),
        Expected::YesOrNo => ("true or false", "true 또는 false여야 합니다."),
        Expected::Amount => {
            ("an amount such as 55000 or 12.50, as text", "55000이나 12.50과 같은 금액 문자열이어야 합니다.")
        }
        Expected::Currency => ("a currency code such as KRW", "KRW와 같은 통화 코드여야 합니다."),
        Expected::UnusedTokenName => (
            "a name that no other token has: 1 to 64 lower-case letters, digits, dots, dashes and underscores",
            "다른 토큰이 쓰지 않는 이름이어야 합니다. 영문 소문자, 숫자, 점, 줄표, 밑줄로 1~64자입니다.",
        ),
        Expected::OtherToken => (
            "another token than the one that asks, and not that of ADMIN_TOKEN, which is rotated",
            "요청에 쓴 토큰과 ADMIN_TOKEN이 아닌 다른 토큰이어야 합니다. ADMIN_TOKEN은 교체만 할 수 있습니다.",
        ),
        Expected::HoldId => {
            ("the id of a hold of this event or room type", "해당 행사나 객실 유형의 선점 ID여야 합니다.")
        }
        Expected::IpAddress => ("an IP address", "IP 주소여야 합니다."),
        Expected::RequestName => ("32 hexadecimal digits", "32자리 16진수여야 합니다."),
        Expected::ArrivalNumber => ("an arrival number", "도착 번호여야 합니다."),
        Expected::WebhookUrl => (
            "an address such as https://shop.example/hooks, public unless WEBHOOK_PRIVATE allows others",
            "https://shop.example/hooks와 같은 공개 주소여야 합니다. 사설 주소는 WEBHOOK_PRIVATE로 허용해야 합니다.",
        ),
    }
}
