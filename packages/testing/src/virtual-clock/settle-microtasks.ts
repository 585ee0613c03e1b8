/** Code under test may use `nextTick` itself; each use of it needs one more round. */
const ROUNDS = 3

const node = globalThis.process as NodeJS.Process | undefined
const nextTick = node?.nextTick.bind(node)

/**
 * Resolves when every promise continuation that can run without a timer or I/O has run.
 *
 * Node runs the tick queue only when its microtask queue is empty, so one tick waits for chains of any length. In a browser, a message
 * does the same. The timing of the event loop has no influence.
 */
export async function settleMicrotasks(): Promise<void> {
  if (nextTick === undefined) return messageDelivered()
  for (let round = 0; round < ROUNDS; round++) await new Promise<void>((resolve) => nextTick(resolve))
}

function messageDelivered(): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.addEventListener('message', () => {
      port1.close()
      resolve()
    })
    port1.start()
    port2.postMessage(undefined)
  })
}
