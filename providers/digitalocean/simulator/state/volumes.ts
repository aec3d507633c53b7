// Volumes, their snapshots, and the actions that attach, detach and resize them.

import type { Stored } from "#ccm/testing";

export interface Volume extends Stored {
  readonly id: string;
  /** The region's slug. */
  readonly region: string;
  readonly description: string;
  readonly size_gigabytes: number;
  /** Includes droplets that were deleted since. */
  readonly droplet_ids: readonly number[];
  readonly tags: readonly string[];
  readonly created_at: string;
  /** Data on the volume. The API does not show it. */
  readonly data: string;
}

export interface Snapshot extends Stored {
  readonly id: string;
  readonly resource_id: string;
  readonly resource_type: "volume";
  readonly regions: readonly string[];
  readonly min_disk_size: number;
  readonly size_gigabytes: number;
  readonly tags: readonly string[];
  readonly created_at: string;
  readonly data: string;
}

export interface Action extends Stored {
  readonly id: number;
  readonly status: "in-progress" | "completed" | "errored";
  readonly type: string;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly resource_id: string;
  readonly resource_type: "volume";
  readonly region_slug: string;
}
