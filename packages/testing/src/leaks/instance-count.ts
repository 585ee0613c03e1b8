import { queryObjects } from 'node:v8'

/** How many more instances of a class are reachable than when it was made. Every look collects garbage. */
export class InstanceCount {
  readonly #class: abstract new (...args: never[]) => object
  readonly #before: number

  constructor(constructor: abstract new (...args: never[]) => object) {
    this.#class = constructor
    this.#before = this.#count()
  }

  /** The difference. Classes derived since count as one each: their prototype is an instance too. */
  growth(): number {
    return this.#count() - this.#before
  }

  #count(): number {
    return queryObjects(this.#class, { format: 'count' })
  }
}
