// The metric of a changed configuration that waits for a restart.

import type { Metrics } from "../../telemetry/metrics.ts";

export class ConfigurationMetrics {
  #pending: () => readonly string[] = () => [];

  constructor(metrics: Metrics) {
    metrics.gaugeFrom(
      "fairlead_configuration_restart_pending",
      "Settings whose changed value takes effect after a restart of the process; /debug/state shows them.",
      [],
      () => [[{}, this.#pending().length]],
    );
  }

  /** Sets where the changed settings that need a restart are read from. */
  readonly pendingRestart = (read: () => readonly string[]): void => {
    this.#pending = read;
  };
}
