// Lets the search work where a page is opened from a disk: browsers start no worker for file: addresses, so a hidden
// frame runs the same script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.srcdoc = "<body></body>"
      this.scope = new Promise(resolve => {
        frame.addEventListener("load", () => {
          const scope = frame.contentWindow
          scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = scope.document.createElement("script")
          script.addEventListener("load", () => resolve(scope))
          script.src = url
          scope.document.body.append(script)
        }, { once: true })
      })
      document.body.append(frame)
    }

    postMessage(data) {
      this.scope.then(scope => scope.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
