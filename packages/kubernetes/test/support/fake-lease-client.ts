import { objectPath, type ObjectReference } from '../../src/client/resource.ts'
import type { JsonObject } from '../../src/json-object.ts'
import type { ObjectObserver } from '../../src/reflector/observed-object.ts'

/** The watches of a LeaseClient, which the test feeds. */
export class FakeLeaseClient {
  readonly opened: string[] = []
  readonly closed: string[] = []
  readonly #observers = new Map<string, ObjectObserver>()
  #version = 0n

  watch(reference: ObjectReference, { observer }: { readonly observer: ObjectObserver }) {
    const { resource } = reference
    this.opened.push(objectPath(reference))
    this.#observers.set(resource, observer)
    return { close: async () => void this.closed.push(resource) }
  }

  shows(resource: string, object: JsonObject | undefined): void {
    const version = ++this.#version
    this.#observers.get(resource)?.changed(object ? { kind: 'present', version, object } : { kind: 'absent', version })
  }

  fails(resource: string, failure: Error): void {
    this.#observers.get(resource)?.down(failure)
  }

  up(resource: string): void {
    this.#observers.get(resource)?.up()
  }
}
