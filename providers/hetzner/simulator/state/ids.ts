// Ids of resources and actions. All kinds share one sequence, so that a test notices when an id of the wrong kind is used.

export class Ids {
  #last = 1_000_000;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
