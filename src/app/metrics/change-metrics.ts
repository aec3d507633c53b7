// Metrics of the changes that a cloud reports.

import type { ChangeStream } from "../../cloud/change-stream.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface ChangeMetrics {
  /** Whether the hint had an effect: it is about something known, and not a repetition. */
  changeHint(isUsed: boolean): void;
  watchChanges(stream: Pick<ChangeStream, "state">): void;
}

export function createChangeMetrics(metrics: Metrics): ChangeMetrics {
  const hints = metrics.counter(
    "fairlead_change_hints_total",
    "Changes that the cloud reported: `used`, or `ignored` as unknown or repeated.",
    ["result"],
  );
  return {
    changeHint: (isUsed) => hints.add({ result: isUsed ? "used" : "ignored" }),
    watchChanges: (stream) =>
      metrics.gaugeFrom(
        "fairlead_change_stream_open",
        "Whether the connection is open by which the cloud reports changes. Only on the leader, and only for clouds that have one.",
        [],
        () => (stream.state === undefined ? [] : [[{}, stream.state.openSince === undefined ? 0 : 1]]),
      ),
  };
}
