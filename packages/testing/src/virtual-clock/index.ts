import '@tenure/core/supported-node'

export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
