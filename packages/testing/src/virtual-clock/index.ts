export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
