import type { Clock } from '@tenure/core'
import type { CandidateVersions } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import { deleteObject, listObjects } from '../client/object-requests.ts'
import type { LeaseClient } from '../locks/lease/lease-client.ts'
import { CANDIDATES, isPinged, readCandidates, type StoredCandidate } from './candidate-object.ts'

/** Three times what the controller grants for the answer to a ping. */
const SILENT_MS = 15_000

/** Which candidates to look at, and how. */
interface OtherCandidatesOptions {
  readonly client: LeaseClient
  readonly namespace: string
  readonly leaseName: string
  readonly clock: Clock
}

/**
 * The candidates of the same lease, as they were when they were listed last.
 *
 * Deletes those that do not answer their ping. While a dead candidate is the best one, the controller pings all others
 * every five seconds, for half an hour. Time is counted from when this replica saw the ping, and no clocks are compared. A candidate
 * of Tenure that was only slow creates itself again.
 */
export class OtherCandidates {
  readonly #options: OtherCandidatesOptions
  /** When each open ping was seen first. */
  #seen: ReadonlyMap<string, number> = new Map()
  #listed: readonly StoredCandidate[] = []

  constructor(options: OtherCandidatesOptions) {
    this.#options = options
  }

  /** What a candidate said of itself when it was listed last. */
  versionsOf(name: string): CandidateVersions | undefined {
    return this.#listed.find((candidate) => candidate.name === name)
  }

  /** Lists all candidates of the lease, this replica's among them. */
  async list(signal: AbortSignal): Promise<readonly StoredCandidate[]> {
    const { client, namespace, leaseName } = this.#options
    const list = await client.transport.send(listObjects({ ...CANDIDATES, namespace }, signal))
    this.#listed = readCandidates(list).filter((candidate) => candidate.leaseName === leaseName)
    return this.#listed
  }

  /** Lists the candidates and deletes the silent ones. Call it after each ping that this replica has answered. */
  async look(signal: AbortSignal): Promise<void> {
    const pinged = (await this.list(signal)).filter(isPinged)
    const now = this.#options.clock.now()
    this.#seen = new Map(pinged.map((candidate) => [keyOf(candidate), this.#seen.get(keyOf(candidate)) ?? now]))
    for (const candidate of pinged) {
      if (now - (this.#seen.get(keyOf(candidate)) ?? now) >= SILENT_MS) await this.#delete(candidate, signal)
    }
  }

  /** Deletes a candidate as it was seen. */
  async #delete({ name, uid, resourceVersion }: StoredCandidate, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options
    const reference = { ...CANDIDATES, namespace, name }
    try {
      await client.transport.send(deleteObject(reference, { uid, resourceVersion }, signal))
    } catch (error) {
      // Another replica was faster, or the candidate has answered.
      const isGone = error instanceof ApiRequestError && (error.failure === 'not-found' || error.failure === 'conflict')
      if (!isGone) throw error
    }
  }
}

function keyOf({ uid, pingTime }: StoredCandidate): string {
  return `${uid} ${pingTime}`
}
