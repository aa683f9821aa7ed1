package har

// A keyShape is a kind of key that is known by how it begins.
type keyShape struct {
	prefix  string
	trigger int   // the place in prefix of the character that is searched for
	least   int   // characters behind the prefix
	chars   uint8 // of which classes
	digit   bool  // at least one is a digit
}

var keyShapes = []keyShape{
	{"sk-", 2, 12, base64URL, true},           // OpenAI, Anthropic and others
	{"sk_live_", 2, 12, letterOrDigit, false}, // Stripe
	{"sk_test_", 2, 12, letterOrDigit, false},
	{"rk_live_", 2, 12, letterOrDigit, false},
	{"rk_test_", 2, 12, letterOrDigit, false},
	{"whsec_", 5, 24, letterOrDigit | bearerChar, false}, // Stripe, Svix
	{"ghp_", 3, 16, letterOrDigit, false},                // GitHub
	{"gho_", 3, 16, letterOrDigit, false},
	{"ghu_", 3, 16, letterOrDigit, false},
	{"ghs_", 3, 16, letterOrDigit, false},
	{"ghr_", 3, 16, letterOrDigit, false},
	{"github_pat_", 6, 16, letterOrDigit | underscoreChar, false},
	{"npm_", 3, 30, letterOrDigit, false},
	{"pypi-", 4, 50, base64URL, true},
	{"dckr_pat_", 4, 20, base64URL, false}, // Docker
	{"hf_", 2, 30, letterOrDigit, false},   // Hugging Face
	{"glpat-", 5, 16, base64URL, true},     // GitLab
	{"gldt-", 4, 20, base64URL, true},
	{"glrt-", 4, 20, base64URL, true},
	{"glft-", 4, 20, base64URL, true},
	{"glcbt-", 5, 20, base64URL, true},
	{"glptt-", 5, 20, base64URL, true},
	{"glimt-", 5, 20, base64URL, true},
	{"gloas-", 5, 20, base64URL, true},
	{"glsoat-", 6, 20, base64URL, true},
	{"glagent-", 7, 20, base64URL, true},
	{"xoxb-", 4, 10, letterOrDigit | dashChar, true}, // Slack
	{"xoxa-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxp-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxr-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxs-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxc-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxe-", 4, 10, letterOrDigit | dashChar, true},
	{"xoxd-", 4, 10, letterOrDigit | dashChar | bearerChar, true},
	{"xapp-", 4, 10, letterOrDigit | dashChar, true},
	{"AKIA", 2, 16, upperChar | digitChar, false}, // AWS
	{"ASIA", 2, 16, upperChar | digitChar, false},
	{"AIza", 1, 30, base64URL, false}, // Google
	{"ya29.", 4, 30, base64URL, false},
	{"GOCSPX-", 6, 20, base64URL, false},
	{"gsk_", 3, 30, letterOrDigit, false},        // Groq
	{"xai-", 3, 40, letterOrDigit, true},         // xAI
	{"tvly-", 4, 20, base64URL, true},            // Tavily
	{"r8_", 2, 30, letterOrDigit, false},         // Replicate
	{"SG.", 2, 60, base64URL | bearerChar, true}, // SendGrid
	{"hvs.", 3, 24, base64URL, true},             // HashiCorp Vault
	{"hvb.", 3, 24, base64URL, true},
	{"ATATT", 4, 60, base64URL, true},                       // Atlassian
	{"lin_api_", 3, 24, letterOrDigit, false},               // Linear
	{"ntn_", 3, 30, letterOrDigit, false},                   // Notion
	{"figd_", 4, 30, base64URL, false},                      // Figma
	{"glsa_", 4, 30, letterOrDigit | underscoreChar, false}, // Grafana
	{"shpat_", 5, 32, lowerChar | digitChar, false},         // Shopify
	{"shpca_", 5, 32, lowerChar | digitChar, false},
	{"shppa_", 5, 32, lowerChar | digitChar, false},
	{"shpss_", 5, 32, lowerChar | digitChar, false},
	{"dop_v1_", 3, 32, lowerChar | digitChar, false}, // DigitalOcean
	{"doo_v1_", 3, 32, lowerChar | digitChar, false},
	{"dor_v1_", 3, 32, lowerChar | digitChar, false},
}
