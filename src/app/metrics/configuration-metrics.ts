// The metrics of the configuration: whether a change was refused, and what waits for a restart.

import type { Metrics } from "../../telemetry/metrics.ts";

export class ConfigurationMetrics {
  #pending: () => readonly string[] = () => [];
  #isRefused: () => boolean = () => false;

  constructor(metrics: Metrics) {
    metrics.gaugeFrom(
      "fairlead_configuration_restart_pending",
      "Settings whose changed value takes effect after a restart of the process; /debug/state shows them.",
      [],
      () => [[{}, this.#pending().length]],
    );
    metrics.gaugeFrom(
      "fairlead_configuration_refused",
      "1 while the configuration in the files is invalid, so that the previous one stays in use; the log has the errors.",
      [],
      () => [[{}, this.#isRefused() ? 1 : 0]],
    );
  }

  /** Sets where the changed settings that need a restart are read from. */
  readonly pendingRestart = (read: () => readonly string[]): void => {
    this.#pending = read;
  };

  /** Sets where it is read from whether the configuration was refused. */
  readonly refusal = (read: () => boolean): void => {
    this.#isRefused = read;
  };
}
