import type { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { MANAGED_BY } from '../../src/endpoints/slice-object.ts'
import { pausable } from '../support/pausable-clock.ts'
import { endpointsOf } from '../support/replicas.ts'
import { VirtualApi, type Wire } from '../support/virtual-api.ts'

/** A replica that is well for this long is in the slice. Reconnects back off for up to 6 s. */
const JOIN_MS = 10_000

/** A replica that is well for this long has renewed its Lease, and no replica drops it. */
const ESTABLISHED_MS = 20_000

const LEASE_MS = 15_000

/** After a fault the first success of a survivor begins the full duration again, and it comes within a retry of this. */
const SUCCESS_MS = 7000

/** The share of the work that the other replicas may leave to each other. */
const SLACK_MS = 1000

interface Process {
  readonly identity: string
  readonly wire: Wire
  readonly endpoints: ReturnType<typeof endpointsOf>['endpoints']
  state: 'living' | 'killed' | 'stopping'
}

interface Slot {
  readonly address: string
  process: Process | undefined
  /** Since when the replica lives, is reached, and the server works; undefined if that is not so. */
  wellSince: number | undefined
  deadSince: number | undefined
  /** Since when the slice has its entry, if it was neither paused nor cut off since, and nobody has touched its Lease. */
  enteredAt: number | undefined
}

/** Replicas on one virtual API server, faults from a seed, and the oracles. */
export class Fleet {
  readonly api: VirtualApi
  readonly violations: string[] = []
  /** What was done to it. */
  readonly faults: string[] = []
  readonly #clock: VirtualClock
  readonly #random: () => number
  readonly #slots: Slot[]
  #serial = 0
  #faultUntil = 0
  #isDisturbed = false

  constructor(clock: VirtualClock, random: () => number, size: number) {
    this.#clock = clock
    this.#random = random
    this.api = new VirtualApi(clock, () => 1 + Math.floor(random() * 10))
    this.api.put('services', { metadata: { name: 'shop' }, spec: {} })
    const numbers = Array.from({ length: size }, (_, index) => index + 1)
    this.#slots = numbers.map((number) => ({
      address: `10.0.0.${number}`,
      process: undefined,
      wellSince: undefined,
      deadSince: undefined,
      enteredAt: undefined,
    }))
    this.api.store.watch('endpointslices', ({ object, previous }) =>
      this.#onWrite(listedIn(previous), listedIn(object)),
    )
    for (const slot of this.#slots) this.#start(slot)
  }

  /** Does one thing to the fleet. */
  disturb(): void {
    const slot = this.#slots[Math.floor(this.#random() * this.#slots.length)] as Slot
    const kinds: readonly (readonly [name: string, fault: (one: Slot) => void])[] = [
      ['kill', (one) => this.#kill(one)],
      ['restart', (one) => this.#restart(one)],
      ['stop', (one) => this.#stopCleanly(one)],
      ['cut off', (one) => this.#cut(one)],
      ['pause', (one) => this.#pause(one)],
      ['pause, then kill the server', (one) => this.#killServerAfterPause(one)],
      ['silence a watch', (one) => this.#silence(one)],
      ['kill the server', () => this.#killServer()],
      ['stall the store', () => this.#stall()],
      ['break all streams', () => this.#breakStreams()],
      ['meddle', () => this.#meddle()],
    ]
    const [name, fault] = kinds[Math.floor(this.#random() * kinds.length)] ?? ['', () => {}]
    this.faults.push(`${Math.round(this.#clock.now())} ms: ${name} (${slot.address})`)
    fault(slot)
  }

  /** Lets time pass, and asks the oracles every 100 ms. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      await this.#clock.advance(100)
      this.#look()
    }
  }

  /** Heals everything. */
  heal(): void {
    this.api.isStalled = false
    this.api.up()
    for (const { process } of this.#slots)
      if (process?.state === 'living') Object.assign(process.wire, { isCut: false, isPaused: false, silent: undefined })
  }

  /** Asks whether the slice has exactly the living now. Nobody is left to remove the last ones that were killed together. */
  judge(): void {
    const living = this.#slots.filter(({ process }) => process?.state === 'living').map(({ address }) => address)
    const listed = this.#listed
    if (living.length > 0 && listed.join() !== living.join())
      this.#violated(`${living.join()} live, but the slice has ${listed.join()}`)
  }

  /** Ends all replicas, so that no timer is left that does something. */
  async end(): Promise<void> {
    const stops = this.#slots.flatMap(({ process }) => (process?.state === 'living' ? [process.endpoints.stop()] : []))
    await this.#clock.advance(10_000)
    await Promise.all(stops)
  }

  #start(slot: Slot): void {
    const wire: Wire = { isCut: false, isPaused: false }
    const identity = `${slot.address}_${++this.#serial}`
    const clock = pausable(this.#clock, wire) as VirtualClock
    const { endpoints, host } = endpointsOf(
      { api: this.api, clock, identity, random: this.#random, wire },
      { address: slot.address },
    )
    slot.process = { identity, wire, endpoints, state: 'living' }
    slot.deadSince = undefined
    slot.wellSince = undefined
    slot.enteredAt = undefined
    endpoints.start(host).catch((error: unknown) => this.violations.push(`start of ${identity}: ${String(error)}`))
  }

  #kill(slot: Slot): void {
    if (slot.process?.state !== 'living') return
    slot.process.state = 'killed'
    slot.process.wire.isDead = true
    slot.deadSince = this.#clock.now()
  }

  #restart(slot: Slot): void {
    this.#kill(slot)
    this.#clock.setTimer(this.#random() * 20_000, () => {
      if (slot.process?.state !== 'living') this.#start(slot)
    })
  }

  #stopCleanly(slot: Slot): void {
    const { process } = slot
    if (process?.state !== 'living') return
    process.state = 'stopping'
    slot.deadSince = this.#clock.now()
    void process.endpoints.stop()
    this.#clock.setTimer(5000 + this.#random() * 5000, () => {
      if (slot.process === process) this.#start(slot)
    })
  }

  #cut(slot: Slot): void {
    const { process } = slot
    if (process?.state !== 'living') return
    process.wire.isCut = true
    slot.enteredAt = undefined
    this.#clock.setTimer(this.#random() * 30_000, () => (process.wire.isCut = process.state === 'killed'))
  }

  #pause(slot: Slot, ms = this.#random() * 30_000, then: () => void = () => {}): void {
    const { process } = slot
    if (process?.state !== 'living') return
    process.wire.isPaused = true
    slot.enteredAt = undefined
    this.#clock.setTimer(ms, () => {
      process.wire.isPaused = process.state === 'killed'
      then()
    })
  }

  /** The others have dropped it, and hear that it is back when the server is. */
  #killServerAfterPause(slot: Slot): void {
    this.#pause(slot, LEASE_MS + this.#random() * 5000, () => {
      this.#clock.setTimer(this.#random() * 200, () => this.#killServer())
    })
  }

  /** One replica sees no changes of the group, or of the slice, for a while. */
  #silence({ process }: Slot): void {
    if (process?.state !== 'living') return
    process.wire.silent = this.#random() < 0.7 ? 'leases' : 'endpointslices'
    this.#clock.setTimer(this.#random() * 10_000, () => (process.wire.silent = undefined))
  }

  #killServer(): void {
    const ms = this.#random() * 3000
    this.api.kill()
    this.#faultUntil = Math.max(this.#faultUntil, this.#clock.now() + ms)
    this.#clock.setTimer(ms, () => this.api.up())
  }

  #stall(): void {
    const ms = this.#random() * 30_000
    this.api.isStalled = true
    this.#faultUntil = this.#clock.now() + ms
    this.#clock.setTimer(ms, () => (this.api.isStalled = false))
  }

  #breakStreams(): void {
    this.#faultUntil = Math.max(this.#faultUntil, this.#clock.now())
    this.api.breakStreams()
  }

  /** Somebody deletes a Lease or the slice, or adds a stranger. */
  #meddle(): void {
    this.#isDisturbed = true
    this.#faultUntil = Math.max(this.#faultUntil, this.#clock.now())
    const leases = this.api.store.list('leases')
    const slice = this.api.get('endpointslices', 'shop') as { readonly endpoints?: readonly object[] } | undefined
    const pick = Math.floor(this.#random() * 3)
    const lease = leases[Math.floor(this.#random() * leases.length)]
    if (pick === 0 && lease !== undefined) {
      for (const slot of this.#slots) slot.enteredAt = undefined
      this.api.remove('leases', lease.metadata.name ?? '')
    }
    if (pick === 1 && slice !== undefined) this.api.remove('endpointslices', 'shop')
    if (pick === 2 && slice !== undefined) {
      const labels = { 'endpointslice.kubernetes.io/managed-by': MANAGED_BY, 'kubernetes.io/service-name': 'shop' }
      const endpoints = [...(slice.endpoints ?? []), { addresses: ['10.9.9.9'], conditions: { ready: true } }]
      this.api.put('endpointslices', {
        ...slice,
        metadata: { ...(slice as { metadata: object }).metadata, name: 'shop', labels },
        endpoints,
      })
    }
    this.#isDisturbed = false
  }

  get #listed(): readonly string[] {
    return listedIn(this.api.get('endpointslices', 'shop'))
  }

  /** What a replica writes must not remove anybody who is well, and must not leave the slice empty. */
  #onWrite(before: readonly string[], after: readonly string[]): void {
    if (this.#isDisturbed) return
    this.#update()
    for (const address of before.filter((one) => !after.includes(one))) {
      const slot = this.#slots.find((one) => one.address === address)
      if (slot === undefined) continue
      if (this.#isWell(slot, ESTABLISHED_MS)) this.#violated(`${address} lives and was dropped`)
      const { enteredAt, process } = slot
      if (process?.state !== 'living' || this.api.writer === process.identity || enteredAt === undefined) continue
      this.#violated(`${address} entered at ${enteredAt} ms, lives since, and was dropped by ${this.api.writer}`)
    }
    for (const slot of this.#slots) {
      const isListed = after.includes(slot.address)
      if (!isListed) slot.enteredAt = undefined
      else if (!before.includes(slot.address) && this.#isUntroubled(slot)) slot.enteredAt = this.#clock.now()
    }
    const isSomebodyThere = this.#slots.some((slot) => this.#isWell(slot, JOIN_MS))
    if (after.length === 0 && before.length > 0 && isSomebodyThere)
      this.#violated('the slice was emptied while somebody lives')
  }

  #look(): void {
    this.#update()
    const now = this.#clock.now()
    const listed = this.#listed
    for (const slot of this.#slots) {
      if (this.#isWell(slot, JOIN_MS) && !listed.includes(slot.address))
        this.#violated(`${slot.address} lives and is absent`)
    }
    const survivor = Math.min(...this.#slots.map(({ wellSince }) => wellSince ?? Infinity))
    for (const { address, deadSince } of this.#slots) {
      const since = Math.max(deadSince ?? Infinity, this.#faultUntil + SUCCESS_MS, survivor + SUCCESS_MS)
      if (now - since > LEASE_MS + SLACK_MS && listed.includes(address))
        this.#violated(`${address} is dead and present`)
    }
    const isSomebodyThere = this.#slots.some((slot) => this.#isWell(slot, JOIN_MS))
    if (listed.length === 0 && isSomebodyThere) this.#violated('the slice is empty while somebody lives')
  }

  #update(): void {
    const now = this.#clock.now()
    for (const slot of this.#slots) {
      const { process } = slot
      const isSeen = process?.wire.silent === undefined && !this.api.isStalled && !this.api.isDown
      const isWell = this.#isUntroubled(slot) && isSeen
      slot.wellSince = isWell ? (slot.wellSince ?? now) : undefined
    }
  }

  #isUntroubled({ process }: Slot): boolean {
    return process?.state === 'living' && !process.wire.isCut && !process.wire.isPaused
  }

  #isWell({ wellSince }: Slot, forMs: number): boolean {
    const since = Math.max(wellSince ?? Infinity, this.#faultUntil)
    return this.#clock.now() - since > forMs
  }

  #violated(what: string): void {
    this.violations.push(`${Math.round(this.#clock.now())} ms: ${what}`)
  }
}

function listedIn(object: unknown): readonly string[] {
  const { endpoints = [] } = (object ?? {}) as {
    readonly endpoints?: readonly { readonly addresses: readonly string[] }[]
  }
  return endpoints.flatMap(({ addresses }) => addresses)
}
