// Flags that Go managers had once: what to do about each, for whoever brings an old argument list along.

const fromKlog = "Kubernetes took klog's flags out in 1.26; leave it out, the log goes to stderr";
const withoutTls = "the port without TLS went in Kubernetes 1.24";

export const formerFlags: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...["logtostderr", "alsologtostderr", "stderrthreshold", "log-dir", "log-file", "log-file-max-size"],
      ...["one-output", "skip-headers", "skip-log-headers", "add-dir-header", "log-backtrace-at"],
    ].map((name) => [name, fromKlog]),
  ),
  port: `${withoutTls}; use --secure-port`,
  address: `${withoutTls}; use --bind-address`,
};
