const CTRL_C = '\u0003'

/** Calls `onKey` for every key that is pressed in a terminal, `q` for Ctrl-C. Returns a function that stops listening; undefined without a terminal. */
export function listenToKeys(onKey: (key: string) => void): (() => void) | undefined {
  const { stdin } = process
  if (!stdin.isTTY || !process.stdout.isTTY) return undefined
  const onData = (data: Buffer) => {
    for (const key of data.toString()) onKey(key === CTRL_C ? 'q' : key.toLowerCase())
  }
  stdin.setRawMode(true).resume().on('data', onData)
  return () => {
    stdin.off('data', onData)
    stdin.setRawMode(false).pause()
  }
}
