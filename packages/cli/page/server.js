const KEY = 'tenure-token'

/** The token in the address, which is then removed from it. A reload of the tab still knows it. */
function takeToken() {
  const given = location.hash.slice(1)
  if (given !== '') {
    sessionStorage.setItem(KEY, given)
    history.replaceState(null, '', location.pathname)
  }
  return sessionStorage.getItem(KEY) ?? ''
}

const token = takeToken()

/**
 * Connects to the server, and again after every loss.
 * @param {{ onMessage: (kind: string, message: any) => void, onState: (text: string, isProblem: boolean) => void }} listener
 */
export function connect({ onMessage, onState }) {
  const source = new EventSource(`events?token=${encodeURIComponent(token)}`)
  for (const kind of ['snapshot', 'news', 'replicas', 'problem'])
    source.addEventListener(kind, (event) => onMessage(kind, JSON.parse(event.data)))
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED)
      onState('The server refuses this page. Open the address that the command prints.', true)
    else onState('The server does not answer. Trying again…', true)
  })
}

/**
 * Sends a request with the token. Resolves with the answer; a failure is an answer, too.
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<{ isDone?: boolean, text?: string, sentences?: string[] }>}
 */
export async function ask(path, body) {
  const headers = { 'x-tenure-token': token }
  const request =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  try {
    return await (await fetch(path, request)).json()
  } catch {
    return { isDone: false, text: 'The server does not answer.' }
  }
}
