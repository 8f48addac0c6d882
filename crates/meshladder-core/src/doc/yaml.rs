//! YAML as Kubernetes reads it: documents, values and where each of them stands.
