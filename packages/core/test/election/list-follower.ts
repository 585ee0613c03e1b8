import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { lease, purposes, PureElector } from './pure-elector.ts'

/** A lease of another replica, which keeps no list. */
export const HELD: LeaseRecord = lease({ version: 1n }).record

/** A lease whose holder keeps a list of these standbys. */
export function kept(...identities: readonly string[]): LeaseRecord {
  return withStandbys(
    HELD,
    identities.map((identity) => ({ identity, revision: undefined, since: 1n })),
  )
}

/** The standbys that a record names. */
export function named(record: LeaseRecord): readonly string[] {
  return readStandbys(record).map(({ identity }) => identity)
}

/** A follower of a lease that others change. It joins the list of standbys. */
export class ListFollower extends PureElector {
  #version = 1n

  constructor(record: LeaseRecord, config: Partial<ElectorConfig> = {}) {
    super({ announceAfterMs: undefined, ...config })
    this.random = 0.5
    this.follow({ kind: 'present', version: 1n, record, deleting: false })
  }

  /** The lease changes to this now. Returns the purposes of the writes that follow. */
  see(record: LeaseRecord): readonly string[] {
    this.#version += 1n
    return purposes(this.observe({ kind: 'present', version: this.#version, record, deleting: false }))
  }

  /** The last write is stored. */
  store(): void {
    this.#version += 1n
    this.acknowledge(this.#version)
  }

  /** The settings change. The replica sees that at its next event. */
  change(config: Partial<ElectorConfig>): void {
    this.config = { ...this.config, ...config }
  }

  /** The settings change, and the replica hears of it now. */
  become(config: Partial<ElectorConfig>): readonly ElectorEffect[] {
    this.change(config)
    return this.send({ kind: 'wake' })
  }

  /** The lease is renewed now: no field changes but its time. */
  renew(record: LeaseRecord): readonly string[] {
    return this.see({ ...record, renewTime: `at ${this.now}` })
  }
}
