import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { collectDefaultMetrics, Counter, register, Registry } from 'prom-client'
import { kept, letGo, type Plant } from './plant.ts'

const noop = () => {}
let metrics = 0

export const observerPlants: readonly Plant[] = [
  {
    name: 'async hook',
    kind: 'async-hook',
    leak: () => {
      const hook = createHook({ init: noop }).enable()
      return () => hook.disable()
    },
    clean: () => createHook({ init: noop }).enable().disable(),
  },
  {
    name: 'PerformanceObserver',
    kind: 'performance-observer',
    leak: () => {
      const observer = new PerformanceObserver(noop)
      observer.observe({ entryTypes: ['function'] })
      return () => observer.disconnect()
    },
    clean: () => {
      const observer = new PerformanceObserver(noop)
      observer.observe({ entryTypes: ['function'] })
      observer.disconnect()
    },
  },
  {
    name: 'event loop delay monitor',
    kind: 'event-loop-monitor',
    leak: () => {
      const monitor = monitorEventLoopDelay()
      monitor.enable()
      kept.push(monitor)
      return () => {
        monitor.disable()
        letGo()
      }
    },
    clean: () => {
      const monitor = monitorEventLoopDelay()
      monitor.enable()
      monitor.disable()
    },
  },
  {
    name: 'default metrics of prom-client',
    kind: 'performance-observer',
    leak: () => {
      collectDefaultMetrics({ register: new Registry() })
      return noop // They cannot be stopped: that is why they are on the list.
    },
    clean: () => new Counter({ name: 'ticks_total', help: 'Ticks.', registers: [new Registry()] }).inc(),
  },
  {
    name: 'metric in the global registry',
    kind: 'metric',
    leak: () => {
      const name = `leaked_${metrics++}_total`
      new Counter({ name, help: 'Leaked.' }).inc()
      return () => register.removeSingleMetric(name)
    },
    clean: () => {
      const name = `removed_${metrics++}_total`
      new Counter({ name, help: 'Removed.' }).inc()
      register.removeSingleMetric(name)
    },
  },
  {
    name: 'subscriber of a diagnostics channel',
    kind: 'diagnostics-subscriber',
    leak: () => {
      const subscriber = () => {}
      subscribe('leaks.test', subscriber)
      return () => unsubscribe('leaks.test', subscriber)
    },
    clean: () => {
      subscribe('leaks.test', noop)
      unsubscribe('leaks.test', noop)
    },
  },
  {
    name: 'store bound to a diagnostics channel',
    kind: 'diagnostics-subscriber',
    leak: () => {
      const store = new AsyncLocalStorage<unknown>()
      channel('leaks.store').bindStore(store)
      return () => channel('leaks.store').unbindStore(store)
    },
    clean: () => {
      const store = new AsyncLocalStorage<unknown>()
      channel('leaks.store').bindStore(store)
      channel('leaks.store').unbindStore(store)
    },
  },
]
