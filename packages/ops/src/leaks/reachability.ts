/** How many later terms must be garbage before a reachable term counts as kept. */
const EVIDENCE = 3

/** The maximum number of watched objects. The oldest is dropped first. */
const MAX_WATCHED = 100

interface Watched<T extends object> {
  readonly subject: WeakRef<object>
  readonly facts: T
  /** As old as the subject, and dropped when the subject should be. Its collection shows that the garbage collector has reached that generation. */
  readonly twin: WeakRef<object>
  isTwinGone: boolean
  /** How many twins of later subjects have been collected. */
  outlived: number
}

/**
 * Finds objects that are still reachable although they should not be. Never requests a garbage collection.
 *
 * Each subject has a twin that is created and dropped at the same times. If several twins of later subjects have been collected and a
 * subject has not, something still refers to the subject.
 */
export class Reachability<T extends object> {
  #watched: Watched<T>[] = []

  /** Watches `subject`. Call the returned function when nothing should refer to it any longer. `facts` must not refer to it. */
  begin(subject: object, facts: T): () => void {
    let twin: object | undefined = {}
    const refs = { subject: new WeakRef(subject), twin: new WeakRef(twin) }
    return () => {
      // Only this closure refers to the twin.
      if (twin === undefined) return
      twin = undefined
      this.#watched.push({ ...refs, facts, isTwinGone: false, outlived: 0 })
      if (this.#watched.length > MAX_WATCHED) this.#watched.shift()
    }
  }

  /** Returns the facts of the subjects that something still refers to, each once. */
  findKept(): readonly T[] {
    this.#countTwins()
    const kept = this.#watched.filter(({ outlived, subject }) => outlived >= EVIDENCE && subject.deref() !== undefined)
    const settled = new Set(kept)
    this.#watched = this.#watched.filter((watched) => !settled.has(watched))
    return kept.map(({ facts }) => facts)
  }

  #countTwins(): void {
    for (const [index, watched] of this.#watched.entries()) {
      if (watched.isTwinGone || watched.twin.deref() !== undefined) continue
      watched.isTwinGone = true
      for (const earlier of this.#watched.slice(0, index)) earlier.outlived++
    }
  }
}
