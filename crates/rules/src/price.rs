//! Prices. They are displayed only; nothing is computed from them.

/// An amount of money, such as `55000` or `12.50`, and its currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// A decimal number.
    pub amount: Box<str>,
    /// An ISO 4217 code.
    pub currency: Box<str>,
}

const WHOLE_DIGITS: usize = 12;
const DECIMALS: usize = 4;

/// Digits without leading zeros, optionally followed by a point and one to four digits.
pub fn is_amount(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let plain = whole == "0" || !whole.starts_with('0');
    plain && digits(whole, WHOLE_DIGITS) && decimals.is_none_or(|decimals| digits(decimals, DECIMALS))
}

/// Whether ISO 4217 lists the code.
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && CURRENCIES.split_ascii_whitespace().any(|known| known == code)
}

/// The active codes, without those of metals, funds and tests.
const CURRENCIES: &str = "
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
    IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD
    MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB
    RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
    UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_one_spelling() {
        for good in ["0", "55000", "12.50", "0.5", "999999999999.9999"] {
            assert!(is_amount(good), "{good}");
        }
        for bad in ["", "-1", "+1", "01", "1.", ".5", "1e3", "1,000", "1.00000", "1000000000000", "1 ", "１"] {
            assert!(!is_amount(bad), "{bad}");
        }
    }

    #[test]
    fn currencies_are_those_of_the_standard() {
        assert!(["KRW", "EUR", "USD", "JPY"].into_iter().all(is_currency));
        for bad in ["", "krw", "KRV", "KR", "KRW ", "KRWX", "ZZZ"] {
            assert!(!is_currency(bad), "{bad}");
        }
    }
}
