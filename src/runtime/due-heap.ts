// A binary heap of keys by due time. A key may have several entries; the caller knows which entry is current.

export interface Due {
  readonly key: string;
  readonly due: number;
}

export class DueHeap {
  readonly #entries: Due[] = [];

  peek(): Due | undefined {
    return this.#entries[0];
  }

  push(entry: Due): void {
    const entries = this.#entries;
    let index = entries.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = entries[parent] as Due;
      if (above.due <= entry.due) break;
      entries[index] = above;
      index = parent;
    }
    entries[index] = entry;
  }

  pop(): Due | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= entries.length) break;
      const right = entries[child + 1];
      if (right !== undefined && right.due < (entries[child] as Due).due) child += 1;
      const smaller = entries[child] as Due;
      if (smaller.due >= last.due) break;
      entries[index] = smaller;
      index = child;
    }
    entries[index] = last;
    return first;
  }
}
