/** The write was refused because what it needs is not in the store. No later term was seen. */
export class MissingRowError extends Error {
  constructor(id: string) {
    super(
      id === 'fence'
        ? 'The store has no fence. Call `raiseFence()` at the beginning of every term'
        : `There is no row \`${id}\`. Call \`insert()\` first`,
    )
    this.name = 'MissingRowError'
  }
}
