//! The metrics of the live streams.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Default)]
pub struct LiveSeries {
    pub watchers: Gauge,
    pub messages: Counter,
    pub dropped: Counter,
}

impl LiveSeries {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("watchers", "Open live streams", self.watchers.clone());
        registry.register("stream_messages", "Messages of live streams, over all watchers", self.messages.clone());
        registry.register(
            "watchers_dropped",
            "Live streams ended because their reader was too slow",
            self.dropped.clone(),
        );
    }
}
