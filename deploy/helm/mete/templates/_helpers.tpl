{{- define "mete.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "mete.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: mete
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* Of pods: no version, so that an upgrade of the chart alone restarts nothing. */}}
{{- define "mete.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "mete.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The ConfigMap with the files of the device plugin; "": none. */}}
{{- define "mete.config" -}}
{{- if .Values.devicePlugin.config.name }}{{ .Values.devicePlugin.config.name }}
{{- else if or .Values.devicePlugin.config.create .Values.mig.strategy }}mete-device-plugin
{{- end }}
{{- end }}

{{- /* Does the DaemonSet call the API server? */}}
{{- define "mete.nodeCalls" -}}
{{- if or .Values.claims.enabled .Values.health.taint .Values.gfd.enabled .Values.migManager.enabled .Values.devicePlugin.config.name .Values.devicePlugin.config.create }}yes{{ end }}
{{- end }}

{{- /* Does it ask the kubelet which pods have GPUs? */}}
{{- define "mete.nodeAsksPods" -}}
{{- if or .Values.dcgmExporter.enabled .Values.migManager.enabled }}yes{{ end }}
{{- end }}
