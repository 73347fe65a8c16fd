"""An endpoint picker for gateways: Envoy asks a router where a request goes, and sends it to that instance itself."""
