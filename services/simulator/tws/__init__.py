"""The TWS face: a gateway at server version 178 over the exchange model, for unmodified clients of Interactive Brokers."""
