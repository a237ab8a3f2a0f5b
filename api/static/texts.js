// The words of the page in English and Chinese, chosen by the browser's language.

const TEXTS = {
  en: {
    tagline: "Ask the papers. Every sentence of an answer shows where it stands.",
    label: "Your question",
    placeholder: "What would you like to know?",
    ask: "Ask",
    stop: "Stop",
    again: "Try again",
    examples: "Try one of these",
    searching: "Searching the papers …",
    reading: (n) => `Reading ${n} ${n === 1 ? "paper" : "papers"} …`,
    stopped: "Stopped. What stands above is not the whole answer.",
    sources: "Sources",
    nearest: "Nearest papers",
    nearestNote: "For reading on. They are not sources of the text.",
    unanswered: "Not answered from these papers",
    mark: (n, title) => `Source ${n}: ${title}`,
    link: "Open the paper",
    untitled: "Untitled paper",
    derived: "The list gives no title; this name was taken from the abstract.",
    opening: "Fetching the abstract …",
    noAbstract: "The abstract could not be fetched; this is the quote.",
    verbatim: "word for word from the papers",
    by: (model) => `written by ${model}, each source checked`,
    dropped: (n) => `${n} ${n === 1 ? "sentence" : "sentences"} left out, not borne out by a source`,
    errors: {
      "no-index": "Nothing was ingested yet. Run “confab ingest” with a list of papers; this page then answers.",
      "model-mismatch": "The index was built with another embedding model than the service uses.",
      busy: "The service is busy. Try again in a moment.",
      upstream: "The model's server failed. Try again in a moment.",
      "upstream-timeout": "The model's server was too slow. Try again in a moment.",
      "body-too-large": "That is too long a question.",
      usage: "That question cannot be taken as it is.",
      offline: "The service cannot be reached. Is it still running?",
      cut: "The connection broke before the answer was complete.",
      other: "Something went wrong.",
    },
    reference: (id) => `Reference for the operator: ${id}`,
    try: [
      "How much does COFT reduce standard bias metrics?",
      "On which two benchmarks or simulators is TACTIC evaluated?",
      "Where can I download the FLAME code?",
    ],
  },
  zh: {
    tagline: "向论文提问。答案的每句话都标明出处。",
    label: "你的问题",
    placeholder: "想了解什么？",
    ask: "提问",
    stop: "停止",
    again: "重试",
    examples: "试试这些问题",
    searching: "正在检索论文……",
    reading: (n) => `正在阅读 ${n} 篇论文……`,
    stopped: "已停止。以上不是完整的答案。",
    sources: "出处",
    nearest: "相近的论文",
    nearestNote: "仅供延伸阅读，并非以上文字的出处。",
    unanswered: "这些论文里没有答案",
    mark: (n, title) => `出处 ${n}：${title}`,
    link: "打开论文",
    untitled: "无标题论文",
    derived: "列表中没有标题；此名称取自摘要。",
    opening: "正在获取摘要……",
    noAbstract: "无法获取摘要；这里只显示引文。",
    verbatim: "逐字摘自论文",
    by: (model) => `由 ${model} 撰写，出处逐条核对`,
    dropped: (n) => `有 ${n} 句没有出处支持，未显示`,
    errors: {
      "no-index": "还没有导入论文。请运行 “confab ingest” 导入列表，之后本页即可回答。",
      "model-mismatch": "索引所用的嵌入模型与服务当前的模型不同。",
      busy: "服务繁忙，请稍后再试。",
      upstream: "模型服务器出错，请稍后再试。",
      "upstream-timeout": "模型服务器响应太慢，请稍后再试。",
      "body-too-large": "问题太长了。",
      usage: "无法接受这个问题。",
      offline: "无法连接服务。它还在运行吗？",
      cut: "答案还没有完成，连接就中断了。",
      other: "出错了。",
    },
    reference: (id) => `供管理员查询的编号：${id}`,
    try: ["COFT 把标准偏见指标降低了多少？", "TACTIC 在哪两个基准或模拟器上评测？", "在哪里可以下载 FLAME 的代码？"],
  },
};

export const language = /^zh\b/i.test(navigator.language) ? "zh" : "en";
export const text = TEXTS[language];

/** Put the language's words into every element that names one with `data-text`. */
export function translate(root) {
  root.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = text[element.dataset.text];
  }
}
