import type { Logger } from '@tenure/core'
import { ApiRequestError } from '../../client/api-request-error.ts'
import { getObject } from '../../client/object-requests.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import type { LeaseClient } from '../lease/lease-client.ts'
import { conditionOf } from './ended-pod.ts'

/** Reads the nodes of Pods, if this replica may. */
export class PodNodes {
  readonly #client: LeaseClient
  readonly #logger: Logger
  #mayRead = true

  constructor(client: LeaseClient, logger: Logger) {
    this.#client = client
    this.#logger = logger
  }

  /** Whether it is known how the node of this Pod is. */
  canRead(pod: JsonObject): boolean {
    return this.#mayRead && nodeNameOf(pod) !== undefined
  }

  /** Whether the node of this Pod is not ready; false if that cannot be known. @throws LockRequestError if a read fails that may succeed later */
  async isNotReady(pod: JsonObject, signal: AbortSignal): Promise<boolean> {
    const name = nodeNameOf(pod)
    if (!this.#mayRead || name === undefined) return false
    try {
      const reference = { group: '', version: 'v1', resource: 'nodes', namespace: '', name }
      const node = await this.#client.transport.send(getObject(reference, signal))
      const ready = isJsonObject(node) ? conditionOf(node, 'Ready') : undefined
      return ready !== undefined && ready !== 'True'
    } catch (error) {
      if (!(error instanceof ApiRequestError)) throw error
      if (error.failure === 'forbidden') this.#noteDenied(error)
      else if (error.failure !== 'not-found') throw error
      return false
    }
  }

  #noteDenied(err: ApiRequestError): void {
    this.#mayRead = false
    const text = `The node of the holder is not looked at, only its Pod: ${err.message}`
    this.#logger.info({ event: 'nodes-unseen', err }, text)
  }
}

function nodeNameOf(pod: JsonObject): string | undefined {
  return stringAt(objectAt(pod, 'spec'), 'nodeName')
}
